/** The response header that names the parts of a lenient request that were left out. */
const WARNING_HEADER = 'x-switchyard-warning';

const MAX_WARNINGS = 20;
const MAX_TYPE_CHARS = 64;

/** Renders the warnings of a request as response headers; none without warnings. Equal warnings are listed once. */
export function toWarningHeaders(warnings: readonly string[]): Record<string, string> {
  const distinct = [...new Set(warnings)];
  if (distinct.length === 0) return {};
  const rest = distinct.length - MAX_WARNINGS;
  const listed = rest > 0 ? [...distinct.slice(0, MAX_WARNINGS), `${rest} more`] : distinct;
  return { [WARNING_HEADER]: listed.join('; ') };
}

/** Describes a part of a request that was left out. The type comes from the client, so characters that a header cannot have are removed. */
export function describeOmission(field: string, kind: string, type: unknown): string {
  const safeType = typeof type === 'string' ? type.replaceAll(/[^\w.-]/g, '').slice(0, MAX_TYPE_CHARS) : '';
  return `${field}: ${kind} of ${safeType === '' ? 'unknown type' : `type ${safeType}`} left out`;
}
