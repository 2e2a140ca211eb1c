import { fileTypeFromBuffer } from 'file-type';
import { decodeText } from './text/decode-text.ts';

/** Types whose text is the document itself. */
export const TEXT_TYPES: ReadonlySet<string> = new Set([
  'text/plain',
  'text/csv',
  'text/markdown',
  'text/xml',
  'application/json',
  'application/xml',
  'text/yaml',
  'application/x-yaml',
  'text/javascript',
  'text/x-python',
  'text/x-typescript',
  'application/x-sh',
]);

/** Bytes of a text that decide its type. */
const SAMPLE_BYTES = 65_536;
const MAX_CONTROL_SHARE = 0.02;

/** Detects the type of a document from its bytes. Names and headers are not used. */
export async function detectType(bytes: Uint8Array<ArrayBuffer>, charset?: string): Promise<string> {
  const found = (await fileTypeFromBuffer(bytes))?.mime;
  if (found !== undefined && found !== 'application/xml') return found;
  const sample = decodeText(bytes.subarray(0, SAMPLE_BYTES), charset);
  return looksLikeText(sample) ? detectTextType(sample, bytes.length <= SAMPLE_BYTES) : 'application/octet-stream';
}

function looksLikeText(sample: string): boolean {
  // oxlint-disable-next-line no-control-regex
  const controls = sample.match(/[\0-\x08\x0e-\x1a\x1c-\x1f\x7f]/g)?.length ?? 0;
  return controls <= sample.length * MAX_CONTROL_SHARE;
}

function detectTextType(sample: string, isWhole: boolean): string {
  const head = sample.replace(/^\ufeff/, '').trimStart();
  const start = head.slice(0, 2_000);
  if (/^#!.{0,100}\b(?:ba|z|da|k)?sh\b/.test(start)) return 'application/x-sh';
  if (/^#!.{0,100}\bpython/.test(start)) return 'text/x-python';
  if (/^#!.{0,100}\b(?:node|deno|bun)\b/.test(start)) return 'text/javascript';
  const markup = start.replace(/^(?:<\?xml[^>]*>|<!--[\s\S]*?-->|<!doctype\s+svg[^[>]*(?:\[[^\]]*\]\s*)?>|\s+)+/i, '');
  if (/^<svg[\s>]/i.test(markup)) return 'image/svg+xml';
  // An XML document may have elements of the same names as HTML, but its root is html only in XHTML.
  const isXml = start.startsWith('<?xml');
  if (isXml && !/^<!doctype\s+html|^<html[\s>]/i.test(markup)) return 'application/xml';
  if (/^<!doctype\s+html|^<(?:html|head|body|title|meta|div|p|h[1-6]|table|article|main|script|style)[\s>/]/i.test(markup))
    return 'text/html';
  if (/^<\?xml\s|^<[A-Za-z_][\w.:-]*[\s>/]/.test(start)) return 'application/xml';
  if (/^[[{]/.test(start) && isJson(head, isWhole)) return 'application/json';
  if (
    /^(?:(?:From|To|Subject|Date|Received|Return-Path|Message-ID|MIME-Version|Delivered-To|X-[\w-]+): ?.*\r?\n(?:[ \t].*\r?\n)*){2}/i.test(
      start,
    )
  ) {
    return 'message/rfc822';
  }
  return isCsv(start) ? 'text/csv' : 'text/plain';
}

function isJson(text: string, isWhole: boolean): boolean {
  if (!isWhole) return /^\s*(?:\{\s*"|\[\s*[[{"\d])/.test(text);
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** At least two lines with the same number of separators, and no sentence. */
function isCsv(start: string): boolean {
  const lines = start
    .split(/\r?\n/)
    .slice(0, -1)
    .filter((line) => line !== '');
  if (lines.length < 2) return false;
  return [',', ';', '\t'].some((separator) => {
    const counts = lines.map((line) => line.replaceAll(/"[^"]*"/g, '').split(separator).length);
    return (counts[0] ?? 0) > 1 && counts.every((count) => count === counts[0]);
  });
}
