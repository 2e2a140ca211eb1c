import type { CallResult } from '@switchyard/client';
import type { TurnEvidence, TurnRecording } from '@switchyard/contracts';

/** The stored texts and evidence of a turn. Each is undefined after it has expired. */
export interface KeptTurn {
  recording: TurnRecording | undefined;
  evidence: TurnEvidence | undefined;
}

/** Reads a turn from the files of `obs.bundle`. A file that was cut to its limit counts as missing. */
export function readBundle({ files }: CallResult<'obs.bundle'>, turnId: string): KeptTurn {
  const read = (name: string): string => files.find((file) => file.name === name)?.content ?? '';
  const prompts = read('prompts.jsonl')
    .split('\n')
    .filter((line) => line.includes(turnId))
    .map((line) => parse(line) as { traceId: string; evidence: TurnEvidence } | undefined);
  const recording = parse(read('recording.json')) as TurnRecording | undefined;
  return {
    recording: recording?.turnId === turnId ? recording : undefined,
    evidence: prompts.find((prompt) => prompt?.traceId === turnId)?.evidence,
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
