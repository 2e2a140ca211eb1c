import { z } from 'zod';

export const RunningProcess = z.object({
  service: z.string(),
  replica: z.string(),
  pid: z.int(),
  ports: z.record(z.string(), z.int()).describe('Listening ports by purpose.'),
  log: z.string(),
});
/** One process of those that run on this machine. */
export type RunningProcess = z.infer<typeof RunningProcess>;

/** In the usual data directory: where the setting `dataDir` has put everything, for whoever looks there. */
export const DATA_DIRECTORY_FILE = 'data-dir';

/** `run.json` of a data directory: what scripts read to learn what runs; rewritten when a process is started again. */
export interface RunFile {
  url: string;
  processes: readonly RunningProcess[];
}

const Written = z.object({ url: z.url(), processes: z.array(z.unknown()).catch([]) });

/** Parses the file of a launcher. Returns undefined for incomplete text or another shape, and skips incomplete processes. */
export function parseRunFile(text: string): RunFile | undefined {
  try {
    const { url, processes } = Written.parse(JSON.parse(text));
    return { url, processes: processes.flatMap((one) => RunningProcess.safeParse(one).data ?? []) };
  } catch {
    return undefined;
  }
}
