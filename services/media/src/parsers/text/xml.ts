import { DOMParser } from 'linkedom/worker';
import { decodeText } from './decode-text.ts';

/** Removes the document type with its internal subset, so that no entity of a document is defined. */
export function withoutDtd(xml: string): string {
  return xml.replaceAll(/<!DOCTYPE[^[>]*(?:\[[\s\S]*?\]\s*)?>/gi, '').replaceAll(/<!ENTITY[^>]*>/gi, '');
}

/** Parses XML of an office format. */
export function parseXml(bytes: Uint8Array) {
  return new DOMParser().parseFromString(withoutDtd(decodeText(bytes)), 'text/xml');
}

/** A node of linkedom, whose types miss fields of the DOM. */
export interface XmlNode {
  nodeType: number;
  nodeName: string;
  localName?: string;
  textContent: string | null;
  childNodes: Iterable<XmlNode>;
  getAttribute?(name: string): string | null;
}

/** The name of an element without its prefix; empty for other nodes. */
export function localName(node: XmlNode): string {
  if (node.nodeType !== 1) return '';
  const name = node.nodeName;
  return name.slice(name.indexOf(':') + 1);
}

/** All elements of these names below a node, in the order of the document. Does not recurse, because documents nest as deep as they like. */
export function findAll(root: XmlNode, ...names: readonly string[]): XmlNode[] {
  const found: XmlNode[] = [];
  const pending: XmlNode[] = [...root.childNodes].toReversed();
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (names.includes(localName(node))) found.push(node);
    pending.push(...[...node.childNodes].toReversed());
  }
  return found;
}
