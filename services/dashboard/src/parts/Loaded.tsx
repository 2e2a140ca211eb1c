import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { describeError, formatTime } from './format.ts';

interface LoadedProps<T> {
  query: Pick<UseQueryResult<T>, 'data' | 'error' | 'dataUpdatedAt' | 'refetch'>;
  children: (data: T) => ReactNode;
}

/** Renders the result of a query. A failed update keeps the last data, greyed, with its age. */
export function Loaded<T>({ query, children }: LoadedProps<T>) {
  const { data, error, dataUpdatedAt, refetch } = query;
  const notice = error && (
    <p role="alert" className="notice">
      {describeError(error)} <button onClick={() => void refetch()}>Try again</button>
      {data !== undefined && <> Shown: the state of {formatTime(dataUpdatedAt)}.</>}
    </p>
  );
  if (data === undefined) return notice ?? <p className="loading">Loading …</p>;
  return (
    <>
      {notice}
      <div className={error ? 'stale' : undefined}>{children(data)}</div>
      <p className="age">As of {formatTime(dataUpdatedAt)}</p>
    </>
  );
}
