import { useVirtualizer } from '@tanstack/react-virtual';
import { useRef, type ReactNode } from 'react';

interface VirtualListProps<T> {
  label: string;
  items: readonly T[];
  rowHeight: number;
  getKey: (item: T, index: number) => string | number;
  render: (item: T) => ReactNode;
}

/** A list that renders the visible rows only. Rows grow with their content. */
export function VirtualList<T>({ label, items, rowHeight, getKey, render }: VirtualListProps<T>) {
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 8,
    getItemKey: (index) => getKey(items[index] as T, index),
  });
  return (
    <div className="scroller" ref={scroller} tabIndex={0} role="region" aria-label={label}>
      <ul className="rows" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map(({ key, index, start }) => (
          <li key={key} data-index={index} ref={rows.measureElement} className="row" style={{ transform: `translateY(${start}px)` }}>
            {render(items[index] as T)}
          </li>
        ))}
      </ul>
    </div>
  );
}
