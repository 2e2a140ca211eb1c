import { toCsv } from './csv.ts';
import { download } from './download.ts';

interface ExportsProps {
  /** The name of the files. */
  label: string;
  rows: readonly Readonly<Record<string, unknown>>[];
  columns: readonly string[];
}

/** Buttons that save records as JSON with all their fields, and as CSV with the named columns. */
export function Exports({ label, rows, columns }: ExportsProps) {
  return (
    <p className="tools">
      <button type="button" onClick={() => download(`${label}.json`, JSON.stringify(rows, undefined, 2))}>
        Export JSON
      </button>
      <button type="button" onClick={() => download(`${label}.csv`, toCsv(rows, columns))}>
        Export CSV
      </button>
    </p>
  );
}
