import type { Logger } from '@switchyard/telemetry';

/** One request in SAMPLE_INTERVAL is logged at `info`. At `debug` every request is logged. */
const SAMPLE_INTERVAL = 1_000;

/** One completed request, without query, headers and bodies. */
export interface AccessLine {
  requestId: string;
  verb: string;
  route: string;
  status: number;
  ms: number;
}

export interface AccessLog {
  /** Counts a request and returns whether to log it, so that other requests build no line. */
  shouldLog(): boolean;
  log(line: AccessLine): void;
}

export function createAccessLog(log: Logger): AccessLog {
  let count = 0;
  return {
    shouldLog: () => ++count % SAMPLE_INTERVAL === 0 || log.isLevelEnabled('debug'),
    log(line) {
      const rounded = { ...line, ms: Math.round(line.ms * 100) / 100 };
      if (count % SAMPLE_INTERVAL === 0) log.info({ ...rounded, sampledOf: SAMPLE_INTERVAL }, 'request');
      else log.debug(rounded, 'request');
    },
  };
}
