import type { ReactNode } from 'react';
import { Exports } from './Exports.tsx';
import { formatValue } from './format.ts';

export type Row = Readonly<Record<string, unknown>>;

interface DataTableProps {
  label: string;
  rows: readonly Row[];
  columns: readonly string[];
  actions?: (row: Row) => ReactNode;
}

/** A table of records, with exports as JSON and CSV. */
export function DataTable({ label, rows, columns, actions }: DataTableProps) {
  if (rows.length === 0) return <p className="empty">Nothing yet.</p>;
  const keys = listKeys(rows, columns);
  return (
    <>
      <div className="scroller" tabIndex={0} role="region" aria-label={label}>
        <table>
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column} scope="col">
                  {column}
                </th>
              ))}
              {actions && <th scope="col">actions</th>}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, index) => (
              <tr key={keys[index]}>
                {columns.map((column) => (
                  <td key={column}>{formatValue(row[column])}</td>
                ))}
                {actions && <td>{actions(row)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Exports label={label} rows={rows} columns={columns} />
    </>
  );
}

/** Fields that identify a record, the best ones first. */
const IDENTITIES = ['sha', 'runId', 'jobId', 'tabId', 'id', 'name'];

/**
 * Keys by identity, so that an open dialog stays with its record when others arrive. Records with the same identity are numbered from the
 * last one, because new ones come first.
 */
function listKeys(rows: readonly Row[], columns: readonly string[]): string[] {
  const counts = new Map<string, number>();
  return rows
    .toReversed()
    .map((row) => {
      const field = IDENTITIES.find((name) => row[name] !== undefined) ?? columns[0] ?? '';
      const identity = JSON.stringify(row[field]) ?? '';
      const count = (counts.get(identity) ?? 0) + 1;
      counts.set(identity, count);
      return `${identity} ${count}`;
    })
    .toReversed();
}
