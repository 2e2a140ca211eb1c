/** Returns the entries (list items) of the "Unreleased" section of a changelog in the Keep a Changelog form. */
export function unreleasedEntries(changelog: string): string[] {
  const [, section = ''] = changelog.split(/^## \[?Unreleased\]?.*$/m);
  const [body = ''] = section.split(/^## /m);
  return body.split(/^(?=- )/m).flatMap((part) => (part.startsWith('- ') ? [part.split(/\n(?=\n|#)/)[0]?.trim() ?? ''] : []));
}

/** Whether the "Unreleased" section has an entry that it did not have before. */
export function addsUnreleasedEntry(before: string, after: string): boolean {
  const known = new Set(unreleasedEntries(before));
  return unreleasedEntries(after).some((entry) => !known.has(entry));
}
