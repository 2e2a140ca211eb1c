import type { ServerResponse } from 'node:http';
import type { UpstreamBehaviour, UpstreamCall, UpstreamUsage } from './upstream-behaviour.ts';

/** Behaviours that also apply to streamed responses. */
export type Streaming = Exclude<UpstreamBehaviour, { kind: 'status' | 'json' | 'redirect' | 'answer' }>;

export interface Completion {
  id: string;
  model: string;
}

/** Sends a non-streaming completion, or the failure closest to the streamed one. */
export function answerWhole(response: ServerResponse, behaviour: Streaming, head: Completion): void {
  const whole = (message: object, finish_reason: string | null, usage?: UpstreamUsage | 'none'): string =>
    JSON.stringify({
      ...head,
      object: 'chat.completion',
      created: 1,
      choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }],
      ...(usage === undefined || usage === 'none' ? {} : { usage: wireUsage(usage) }),
    });
  switch (behaviour.kind) {
    case 'text': {
      const { text, usage = { prompt: 3, completion: words(text).length }, finish = 'stop' } = behaviour;
      return send(response, whole({ content: text }, finish, usage));
    }
    case 'tools': {
      const { calls, text = null, finish = 'tool_calls', fields } = behaviour;
      return send(
        response,
        whole({ ...fields, content: text, tool_calls: calls.map(wireCall) }, finish, { prompt: 3, completion: calls.length }),
      );
    }
    case 'stall':
      return;
    case 'cut':
      return breakOff(response, whole({ content: behaviour.text }, 'stop'));
    case 'unfinished':
      return send(response, whole({ content: behaviour.text }, null));
    case 'half-call': {
      const body = whole({ content: null, tool_calls: [wireCall(behaviour, 0)] }, null);
      return behaviour.end === 'cut' ? breakOff(response, body) : send(response, body);
    }
    case 'frame-error':
      return send(response, JSON.stringify({ error: behaviour.error }));
    case 'garbage':
      return send(response, '{"choices": [{"message": oops');
  }
}

export function words(text: string): string[] {
  return text.match(/\s*\S+\s*/g) ?? [];
}

export function getArguments({ arguments: options }: UpstreamCall): string {
  return typeof options === 'string' ? options : JSON.stringify(options);
}

export function wireUsage({ prompt, completion, cached = 0 }: UpstreamUsage): object {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached },
  };
}

function wireCall(call: UpstreamCall, index: number): object {
  return { ...call.fields, id: `call_up_${index}`, type: 'function', function: { name: call.name, arguments: getArguments(call) } };
}

function send(response: ServerResponse, body: string): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(body);
}

/** Announces the full length, sends half of the body and closes the connection. */
function breakOff(response: ServerResponse, body: string): void {
  const bytes = Buffer.from(body);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length });
  response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy());
}
