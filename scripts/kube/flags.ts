/** Writes options of a program: `{ port: 80, secure: true }` becomes `--port=80 --secure=true`. */
export function flags(options: Readonly<Record<string, string | number | boolean>>): string[] {
  return Object.entries(options).map(([name, value]) => `--${name}=${String(value)}`);
}
