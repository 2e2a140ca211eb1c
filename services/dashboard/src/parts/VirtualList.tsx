import { useVirtualizer } from '@tanstack/react-virtual';
import { useCallback, useRef, type ReactNode } from 'react';

interface VirtualListProps<T> {
  label: string;
  items: readonly T[];
  rowHeight: number;
  getKey: (item: T, index: number) => string | number;
  render: (item: T) => ReactNode;
}

/** The list keeps the height of each row that it has rendered. Rows of a live list never return, so that their heights are dropped. */
const MAX_MEASURED_ROWS = 20_000;

/** A list that renders the visible rows only. Rows grow with their content. */
export function VirtualList<T>({ label, items, rowHeight, getKey, render }: VirtualListProps<T>) {
  const scroller = useRef<HTMLDivElement>(null);
  // Another function would make the virtualizer compute the places of all rows again, with each row that it measures.
  const getItemKey = useCallback((index: number) => getKey(items[index] as T, index), [items, getKey]);
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 8,
    getItemKey,
  });
  const measured = useRef(0);
  const measure = useCallback(
    (row: HTMLLIElement | null) => {
      rows.measureElement(row);
      if (row === null || ++measured.current < MAX_MEASURED_ROWS) return;
      measured.current = 0;
      rows.measure();
    },
    [rows],
  );
  return (
    <div className="scroller" ref={scroller} tabIndex={0} role="region" aria-label={label}>
      <ul className="rows" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map(({ key, index, start }) => (
          <li key={key} data-index={index} ref={measure} className="row" style={{ transform: `translateY(${start}px)` }}>
            {render(items[index] as T)}
          </li>
        ))}
      </ul>
    </div>
  );
}
