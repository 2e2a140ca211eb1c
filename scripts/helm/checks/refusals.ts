import { forEachItem, readMessages, template } from '../helm.ts';
import { readRefusals, type Refusal } from '../render.ts';
import type { ChartTools } from '../tools.ts';
import type { ChartCheck } from './context.ts';

/** Every refused set of values ends with its sentence, with each version of Helm. */
export const tryRefusals: ChartCheck = {
  name: 'refusals',
  async run({ tools }) {
    const failures = await forEachItem(readRefusals(), async (refusal) => {
      const found: string[] = [];
      for (const helm of listVersions(tools)) found.push(...(await tryRefusal(helm, refusal)));
      return found;
    });
    return failures.flat();
  },
};

function listVersions({ helm, helm4 }: ChartTools): string[] {
  return helm4 === undefined ? [helm] : [helm, helm4];
}

async function tryRefusal(helm: string, { chart, values, message }: Refusal): Promise<string[]> {
  const named = `${chart} ${JSON.stringify(values)}`;
  try {
    await template(helm, chart, values);
    return [`not refused: ${named}`];
  } catch (error) {
    const answer = readMessages(error);
    return answer.includes(message) ? [] : [`${named}: expected the message ${JSON.stringify(message)}, got ${answer}`];
  }
}
