/**
 * The part of the Standard Schema interface (v1) that is used here: zod, valibot, arktype and others
 * implement it, so any of them can describe the arguments of a task.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** A schema of a tuple of arguments. */
export type TupleSchema = StandardSchema<unknown, readonly unknown[]>;

/** The arguments as such a schema gives them out. */
export type ParsedArgs<Schema> = Schema extends StandardSchema<unknown, infer Args extends readonly unknown[]> ? Args : never;

/** What a schema answers: the parsed value, or what is wrong with it. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string; readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined }[] };
