/** Writes records as CSV and quotes every value. A leading sign that spreadsheets execute as a formula gets an apostrophe. */
export function toCsv(rows: readonly Readonly<Record<string, unknown>>[], columns: readonly string[]): string {
  const cell = (value: unknown): string => {
    const text = value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value);
    return `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
  };
  return [columns.map(cell), ...rows.map((row) => columns.map((column) => cell(row[column])))].map((line) => line.join(',')).join('\r\n');
}
