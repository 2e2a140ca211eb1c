/** The text of a document before limits, with the number of its pages. */
export interface Extracted {
  text: string;
  pageCount?: number;
  /** The parser stopped at the limit of pages. */
  truncated?: boolean;
  notice?: 'scanned';
  title?: string;
}
