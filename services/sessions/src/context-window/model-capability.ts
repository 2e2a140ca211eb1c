import type { CapabilityClass } from '@switchyard/contracts';
import type { CatalogueEntry } from '@switchyard/models';

/** Upper bounds of capability classes, in billions of parameters. */
const SIZES: readonly (readonly [most: number, capability: CapabilityClass])[] = [
  [4, 'nano'],
  [14, 'small'],
  [80, 'mid'],
];
const SIZE = /(?:^|[-_:/])(\d{1,4}(?:\.\d{1,2})?)b(?![a-z\d])/i;

/**
 * Returns the capability class from the catalogue entry, otherwise from the size in the model name. Models without either are not limited.
 */
export function getCapability({ modelId, capabilityClass }: Pick<CatalogueEntry, 'modelId' | 'capabilityClass'>): CapabilityClass {
  if (capabilityClass !== undefined) return capabilityClass;
  const size = SIZE.exec(modelId)?.[1];
  if (size === undefined) return 'frontier';
  return SIZES.find(([max]) => Number(size) <= max)?.[1] ?? 'frontier';
}

/** Weak models make poor summaries and work better with a short prompt. */
export function isWeak(capability: CapabilityClass | undefined): boolean {
  return capability === 'small' || capability === 'nano';
}
