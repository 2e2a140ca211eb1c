import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, useCallback, useRef, type ReactNode } from 'react';

interface VirtualListProps<T> {
  label: string;
  items: readonly T[];
  rowHeight: number;
  /** Rows are one line of this height. They are never measured, and their elements are used again for other items. */
  isFixed?: boolean;
  /** A stable function; another one makes the list compute the places of all rows again. Rows without it are numbered. */
  getKey?: (item: T, index: number) => string | number;
  render: (item: T) => ReactNode;
}

/** Rows beyond each end of the visible ones. */
const OVERSCAN = 4;

/** A list that renders the visible rows only. Rows grow with their content unless they are fixed. */
export function VirtualList<T>({ label, items, rowHeight, isFixed = false, getKey, render }: VirtualListProps<T>) {
  const scroller = useRef<HTMLDivElement>(null);
  const getItemKey = useCallback((index: number) => getKey?.(items[index] as T, index) ?? index, [getKey, getKey && items]);
  const rows = useVirtualizer<HTMLDivElement, HTMLLIElement>({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: OVERSCAN,
    getItemKey,
    // The list moves its rows itself while it is scrolled. React renders only rows that appear.
    directDomUpdates: true,
    directDomUpdatesMode: 'position',
    ...(isFixed ? { measureElement: () => rowHeight } : {}),
  });
  return (
    <div className="scroller" ref={scroller} tabIndex={0} role="region" aria-label={label}>
      <ul className={isFixed ? 'rows fixed' : 'rows'} ref={rows.containerRef}>
        {rows.getVirtualItems().map(({ key, index }) => (
          <MemoizedRow
            key={key}
            index={index}
            item={items[index]}
            measure={rows.measureElement}
            render={render as (item: unknown) => ReactNode}
          />
        ))}
      </ul>
    </div>
  );
}

interface RowProps {
  index: number;
  item: unknown;
  measure: (row: HTMLLIElement | null) => void;
  render: (item: unknown) => ReactNode;
}

function Row({ index, item, measure, render }: RowProps) {
  return (
    <li data-index={index} ref={measure} className="row">
      {render(item)}
    </li>
  );
}

const MemoizedRow = memo(Row);
