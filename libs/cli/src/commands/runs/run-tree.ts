interface TreeRun {
  sessionKey: string;
  callerSessionKey?: string | undefined;
}

export interface Branch<R> {
  run: R;
  /** Lines that lead to the run. */
  branch: string;
}

/** Arranges runs below the runs that requested them. A run whose parent is not in the list is at the top. */
export function arrangeTree<R extends TreeRun>(runs: readonly R[]): Branch<R>[] {
  const keys = new Set(runs.map(({ sessionKey }) => sessionKey));
  const children = Map.groupBy(runs, ({ callerSessionKey }) =>
    callerSessionKey !== undefined && keys.has(callerSessionKey) ? callerSessionKey : undefined,
  );
  const arrange = (parent: string | undefined, indent: string): Branch<R>[] => {
    const found = children.get(parent) ?? [];
    return found.flatMap((run, at) => {
      const isLast = at === found.length - 1;
      const branch = parent === undefined ? '' : `${indent}${isLast ? '└ ' : '├ '}`;
      const below = parent === undefined ? '' : `${indent}${isLast ? '  ' : '│ '}`;
      return [{ run, branch }, ...arrange(run.sessionKey, below)];
    });
  };
  return arrange(undefined, '');
}
