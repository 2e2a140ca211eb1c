import { say, type Behaviour } from './dev-model.ts';

const WHO = 'I am dev/tools, the development model.';

/** Calls the tool the message names with the JSON object after the name, then answers with its result. */
export const tools: Behaviour = async function* ({ message, results, tools, wanted }) {
  if (results.length > 0 && wanted === undefined) {
    const told = results.map(({ name, text, failed }) => `${name} ${failed ? 'failed' : 'answered'}: ${text}`);
    yield* say(`${WHO} ${told.join(' ')}`);
    return;
  }
  const call = wanted === undefined ? callIn(message, tools) : (callIn(message, [wanted]) ?? { name: wanted, input: '{}' });
  if (call !== undefined) {
    yield { call };
    return;
  }
  const offered = tools.length === 0 ? 'No tools are offered here.' : `Tools offered here: ${tools.join(', ')}.`;
  yield* say(`${WHO} Name a tool and give its arguments as a JSON object after it. ${offered}`);
};

/** The longest offered name wins; a dot stands for an underscore, so that a method's own name works too. */
function callIn(message: string, names: readonly string[]): { name: string; input: string } | undefined {
  for (const name of [...names].sort((a, b) => b.length - a.length)) {
    const spelled = name.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll('_', '[_.]');
    const found = new RegExp(String.raw`(?<![\w.-])${spelled}(?![\w-]|\.\w)`).exec(message);
    if (found !== null) return { name, input: argumentsIn(message.slice(found.index + found[0].length)) };
  }
  return undefined;
}

/** The object that starts right after the name, as it was written; none is no arguments. What never closes is passed on broken. */
function argumentsIn(rest: string): string {
  const text = rest.trimStart();
  if (!text.startsWith('{')) return '{}';
  for (let end = text.indexOf('}'); end !== -1; end = text.indexOf('}', end + 1)) {
    const candidate = text.slice(0, end + 1);
    if (isJson(candidate)) return candidate;
  }
  return text;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
