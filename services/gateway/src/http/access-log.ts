import type { Logger } from '@switchyard/telemetry';

/** One line in so many is written at `info`; at `debug` all are. */
const SAMPLE = 1_000;

/** One answered request. Neither the query, nor headers, nor bodies are ever in it. */
export interface AccessLine {
  requestId: string;
  verb: string;
  route: string;
  status: number;
  ms: number;
}

export interface AccessLog {
  /** Counts a request, and says whether it is noted: only then is there a line to make. */
  due(): boolean;
  note(line: AccessLine): void;
}

export function createAccessLog(log: Logger): AccessLog {
  let count = 0;
  return {
    due: () => ++count % SAMPLE === 0 || log.isLevelEnabled('debug'),
    note(line) {
      const rounded = { ...line, ms: Math.round(line.ms * 100) / 100 };
      if (count % SAMPLE === 0) log.info({ ...rounded, sampledOf: SAMPLE }, 'request');
      else log.debug(rounded, 'request');
    },
  };
}
