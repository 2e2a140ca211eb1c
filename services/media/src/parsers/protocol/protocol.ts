/** A job of the parser process. The bytes of the document follow it. */
export interface ParseRequest {
  /** `article` reduces a page to its main content. */
  mode: 'document' | 'article';
  maxChars: number;
  maxPages: number;
  /** The charset of the response header, if the document came over HTTP. */
  charset?: string;
  /** Address of a page, for its relative links. */
  url?: string;
  /** Types that the operator allows. */
  allowedTypes: readonly string[];
}

export interface ParsedDocument {
  mimeType: string;
  text: string;
  truncated: boolean;
  /** Pages, sheets or slides of the whole document. */
  pageCount?: number;
  /** `scanned`: pages without text. */
  notice?: 'scanned';
  title?: string;
}

/** The reason for which a document has no text. The service derives error code and reason from it. */
export type RefusalKind = 'unsupported' | 'encrypted' | 'damaged' | 'limit' | 'path' | 'not_allowed' | 'empty';

export type ParseResponse = { document: ParsedDocument } | { refusal: { kind: RefusalKind; message: string } };

/** A document that is refused by name. The message is shown to the client. */
export class DocumentRefusal extends Error {
  readonly kind: RefusalKind;

  constructor(kind: RefusalKind, message: string) {
    super(message);
    this.name = 'DocumentRefusal';
    this.kind = kind;
  }
}

/** Bytes of one message: a length in four bytes, and the JSON. */
export function encodeHeader(request: ParseRequest): Buffer {
  const json = Buffer.from(JSON.stringify(request));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(json.length);
  return Buffer.concat([length, json]);
}

export function decodeMessage(message: Buffer): { request: ParseRequest; bytes: Uint8Array<ArrayBuffer> } {
  const end = 4 + message.readUInt32BE(0);
  const request = JSON.parse(message.subarray(4, end).toString('utf8')) as ParseRequest;
  return { request, bytes: new Uint8Array(message.subarray(end)) };
}
