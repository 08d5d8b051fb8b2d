import { code, table } from "./markdown.ts";

/** What a page says of one field: the value in the words of TypeScript, and what it means. */
export type FieldText = readonly [value: string, says: string];

/** A text for every field of a type: one that is missing or too many does not compile. */
export type FieldTexts<Type> = { readonly [Field in keyof Type]-?: FieldText };

/** The table of the fields of a record. */
export function fieldsTable<Type>(texts: FieldTexts<Type>): string {
  return table(["field", "value", "what it says"], rowsOf(texts));
}

/** A row a field. */
export function rowsOf<Type>(texts: FieldTexts<Type>): readonly (readonly string[])[] {
  return Object.entries<FieldText>(texts).map(([field, [value, says]]) => [code(field), code(value), says]);
}
