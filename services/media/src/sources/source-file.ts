/** The bytes of an attachment, wherever they came from. */
export interface SourceFile {
  bytes: Uint8Array<ArrayBuffer>;
  /** The last part of its path or address. It never decides the type. */
  fileName?: string;
  /** The charset of the response header. */
  charset?: string;
  /** The address after all redirects. */
  url?: string;
}
