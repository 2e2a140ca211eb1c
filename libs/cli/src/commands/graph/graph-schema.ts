import { buildGraphSchema } from '@switchyard/contracts';
import { print } from '../../output/output.ts';

/** Prints the JSON Schema of a graph file. It needs no server. */
export async function printGraphSchema(): Promise<void> {
  print(`${JSON.stringify(buildGraphSchema(), null, 2)}\n`);
}
