import type { VisualKind } from './vision-models.ts';

/** An image or a video for a provider. */
export interface Visual {
  kind: VisualKind;
  bytes: Uint8Array<ArrayBuffer>;
  mimeType: string;
  /** Pixels, if known. */
  width?: number;
  height?: number;
}
