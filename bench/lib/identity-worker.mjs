/** The body of piscina's workers. */
export default function identity(value) {
  return value;
}
