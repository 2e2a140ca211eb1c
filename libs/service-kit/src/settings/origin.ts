/** Where the value of a key comes from: the last layer that says anything about it. */
export type Origin =
  | { layer: 'default' | 'preset' | 'stored' }
  | { layer: 'file'; file: string }
  | { layer: 'environment'; variable: string };

/** The layer in a reader's words: a file and a variable by their names. */
export function placeOf(origin: Origin): string {
  switch (origin.layer) {
    case 'file':
      return origin.file;
    case 'environment':
      return origin.variable;
    case 'stored':
      return 'the stored configuration';
    default:
      return 'the defaults';
  }
}
