import { createTokens, type Behaviour } from './dev-model.ts';

const WHO = 'I am dev/tools, the development model.';

/** Calls the tool named in the message with the JSON object after the name, then responds with its result. */
export const tools: Behaviour = async function* ({ message, results, tools, requiredTool }) {
  if (results.length > 0 && requiredTool === undefined) {
    const outcomes = results.map(({ name, text, failed }) => `${name} ${failed ? 'failed' : 'answered'}: ${text}`);
    yield* createTokens(`${WHO} ${outcomes.join(' ')}`);
    return;
  }
  const call =
    requiredTool === undefined ? findCall(message, tools) : (findCall(message, [requiredTool]) ?? { name: requiredTool, input: '{}' });
  if (call !== undefined) {
    yield { call };
    return;
  }
  const available = tools.length === 0 ? 'No tools are offered here.' : `Tools offered here: ${tools.join(', ')}.`;
  yield* createTokens(`${WHO} Name a tool, followed by its arguments as a JSON object. ${available}`);
};

/** Finds the longest tool name in the message. A dot matches an underscore, so that method names work too. */
function findCall(message: string, names: readonly string[]): { name: string; input: string } | undefined {
  for (const name of [...names].sort((a, b) => b.length - a.length)) {
    const spelled = name.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll('_', '[_.]');
    const found = new RegExp(String.raw`(?<![\w.-])${spelled}(?![\w-]|\.\w)`).exec(message);
    if (found !== null) return { name, input: findArguments(message.slice(found.index + found[0].length)) };
  }
  return undefined;
}

/** Returns the JSON object after the name unchanged, or `{}` if there is none. An object that never closes is returned as it is. */
function findArguments(rest: string): string {
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
