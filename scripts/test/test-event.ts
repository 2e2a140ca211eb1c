/** One result of a test, as the reporter writes it: a line of JSON each. */
export interface TestEvent {
  kind: 'test' | 'suite';
  name: string;
  outcome: 'passed' | 'failed' | 'skipped' | 'todo';
  /** 0 for the outermost tests and suites of a file. */
  nesting: number;
  /** The file that declares the test: the test file, or a helper that declares tests for several files. */
  file: string;
  durationMs: number;
}

/** An event of Node's test runner, with the fields read here. */
export interface NodeTestEvent {
  type: string;
  data: {
    name?: string;
    nesting?: number;
    file?: string | undefined;
    skip?: string | boolean | undefined;
    todo?: string | boolean | undefined;
    details?: { duration_ms?: number; type?: string | undefined };
  };
}

/** Returns undefined for events that are no result. */
export function readTestEvent({ type, data }: NodeTestEvent): TestEvent | undefined {
  if (type !== 'test:pass' && type !== 'test:fail') return undefined;
  return {
    kind: data.details?.type === 'suite' ? 'suite' : 'test',
    name: data.name ?? '',
    outcome: outcome(type, data),
    nesting: data.nesting ?? 0,
    file: data.file ?? '',
    durationMs: data.details?.duration_ms ?? 0,
  };
}

function outcome(type: string, { skip, todo }: NodeTestEvent['data']): TestEvent['outcome'] {
  if (isSet(todo)) return 'todo';
  if (isSet(skip)) return 'skipped';
  return type === 'test:pass' ? 'passed' : 'failed';
}

function isSet(mark: string | boolean | undefined): boolean {
  return mark !== undefined && mark !== false;
}
