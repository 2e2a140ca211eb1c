import { isObject } from './json-values.ts';

/** Yields every value of a settings tree with its dotted path. */
export function* getLeaves(value: Record<string, unknown>, above?: string): Generator<[path: string, value: unknown], void, void> {
  for (const [key, inner] of Object.entries(value)) {
    const path = above === undefined ? key : `${above}.${key}`;
    if (isObject(inner) && Object.keys(inner).length > 0) yield* getLeaves(inner, path);
    else yield [path, inner];
  }
}

/** Renders a setting value in one line. */
export function formatSetting(value: unknown): string {
  return value === '' ? '""' : typeof value === 'string' ? value.replaceAll('\n', '\\n') : JSON.stringify(value);
}
