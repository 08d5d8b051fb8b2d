/**
 * Reads CSV as RFC 4180 has it: fields in quotes may hold commas, line breaks and doubled quotes. Each row
 * comes as a record by the names in the first line.
 * @throws Error for a row that has another number of fields, or a quote that is never closed
 */
export function* readCsv(text: string): Generator<Readonly<Record<string, string>>, void, undefined> {
  let names: readonly string[] | undefined;
  for (const { fields, line } of readFields(text)) {
    if (names === undefined) {
      names = fields;
      continue;
    }
    if (fields.length !== names.length) throw new Error(`line ${line}: ${fields.length} fields, but the first line names ${names.length}`);
    yield Object.fromEntries(names.map((name, index) => [name, fields[index] ?? ""]));
  }
}

// A field with what follows it: quoted or bare, then a comma, a line break or the end.
const FIELD = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/gy;

function* readFields(text: string): Generator<{ readonly fields: readonly string[]; readonly line: number }, void, undefined> {
  const field = new RegExp(FIELD);
  let fields: string[] = [];
  let line = 1;
  while (field.lastIndex < text.length) {
    const at = field.lastIndex;
    const [whole, quoted, bare = "", end] = field.exec(text) ?? [];
    if (whole === undefined) throw new Error(`line ${line}: a quote is never closed, or stands inside a bare field (character ${at})`);
    fields.push(quoted === undefined ? bare : quoted.replaceAll('""', '"'));
    if (end !== ",") {
      yield { fields, line };
      fields = [];
    }
    line += whole.split("\n").length - 1;
  }
  if (fields.length > 0) yield { fields: [...fields, ""], line };
}
