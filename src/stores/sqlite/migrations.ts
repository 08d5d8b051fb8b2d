/**
 * The schema, one step after the other: what stands here never changes, another step is added. `user_version` of the file
 * says how many of them it has taken. Source §5.6.
 *
 * Hot rows are kept narrow: values stand in a table of their own, and an index is there only where a verb or a list
 * needs it, since each one costs a page with every write.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE task (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    run_id TEXT,
    name TEXT NOT NULL,
    node TEXT,
    status TEXT NOT NULL,
    version INTEGER NOT NULL,
    owner TEXT,
    attempt INTEGER NOT NULL,
    bucket INTEGER,
    created_at REAL NOT NULL,
    heartbeat_at REAL,
    tags TEXT NOT NULL,
    progress TEXT,
    rest TEXT NOT NULL
  ) STRICT;
  CREATE INDEX task_by_status ON task (status, seq);
  CREATE INDEX task_by_run ON task (run_id, seq) WHERE run_id IS NOT NULL;

  CREATE TABLE payload (
    task INTEGER PRIMARY KEY,
    args TEXT,
    overrides TEXT,
    outcome TEXT,
    partial_outcome TEXT,
    saved TEXT
  ) STRICT;

  CREATE TABLE event (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    task INTEGER,
    run_id TEXT,
    type TEXT NOT NULL,
    version INTEGER,
    body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX event_by_task ON event (task) WHERE task IS NOT NULL;
  CREATE INDEX event_by_run ON event (run_id) WHERE run_id IS NOT NULL;

  CREATE TABLE attempt (
    task INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (task, epoch, attempt)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE run (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    params TEXT NOT NULL,
    body TEXT NOT NULL
  ) STRICT;
  `,
];
