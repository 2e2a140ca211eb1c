/** A job of the image process. The bytes of the image follow it. */
export interface ImageRequest {
  /** Pixels of the source; checked before it is decoded. */
  maxPixels: number;
  /** Bytes of the result. */
  maxBytes: number;
  /** Pixels of the longer side of the result. */
  maxSide: number;
}

/** The header of the response. The bytes of the image follow it. */
export type ImageResponse =
  | { mimeType: 'image/png' | 'image/jpeg'; width: number; height: number }
  | { failure: 'limit' | 'unsupported' | 'damaged'; message: string };
