/** The last layer that sets a key. */
export type Origin =
  | { layer: 'default' | 'preset' | 'stored' }
  | { layer: 'file'; file: string }
  | { layer: 'environment'; variable: string };

/** Formats a layer for messages: the file name, the variable name or a description. */
export function getPlace(origin: Origin): string {
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
