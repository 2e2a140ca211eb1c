/** Writes records as CSV and quotes every value. A text that spreadsheets would execute as a formula gets an apostrophe; numbers stay numbers. */
export function toCsv(rows: readonly Readonly<Record<string, unknown>>[], columns: readonly string[]): string {
  const cell = (value: unknown): string => {
    const text = value === undefined || value === null ? '' : typeof value === 'string' ? guard(value) : JSON.stringify(value);
    return `"${text.replaceAll('"', '""')}"`;
  };
  return [columns.map(cell), ...rows.map((row) => columns.map((column) => cell(row[column])))].map((line) => line.join(',')).join('\r\n');
}

function guard(text: string): string {
  return /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
}
