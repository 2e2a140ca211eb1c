import type { Bucket } from '@switchyard/bus';

/**
 * Makes an entry of a bucket equal to a value as JSON; without a value the entry is removed. Returns whether it wrote. The entry is read
 * before the value and is overwritten only while it is unchanged, so that the later reader wins if two replicas compete.
 */
export async function syncBucketEntry(bucket: Bucket, key: string, readValue: () => Promise<object | undefined>): Promise<boolean> {
  for (let hasWritten = false; ; hasWritten = true) {
    const entry = await bucket.get(key);
    const value = await readValue();
    const next = value && Buffer.from(JSON.stringify(value));
    if (entry?.value === undefined ? next === undefined : next?.equals(entry.value)) return hasWritten;
    // Removals and first writes have no revision check, so the loop verifies the result.
    if (next === undefined) await bucket.remove(key);
    else await bucket.update(key, next, entry?.revision ?? 0);
  }
}
