import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { LLMock, type ChaosConfig } from '@copilotkit/aimock';

/** The providers of aimock at one address: OpenAI, Groq, ElevenLabs, fal and Google. It has no Deepgram. */
export interface MockProviders extends AsyncDisposable {
  readonly origin: string;
  /** Sets the faults of all further responses. `cut`: half of the body is sent, then the connection is destroyed. */
  setFaults(faults: ChaosConfig & { cut?: boolean }): void;
  /** The number of requests so far. */
  countRequests(): number;
}

export interface MockAnswers {
  text: string;
  speech: Uint8Array;
  image: Uint8Array;
}

/** The sync host of fal, and the address of the image in its answer, which has the published origin. */
const FAL_HOST = 'fal.run';
const FAL_FILE = '/files/image.png';

/** Starts aimock. A proxy before it cuts responses of every kind, which aimock does for streamed chats alone. */
export async function startMockProviders({ text, speech, image }: MockAnswers): Promise<MockProviders> {
  const encode = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
  const mock = new LLMock({ port: 0, host: '127.0.0.1', logLevel: 'silent', strict: true });
  mock.onTranscription({ transcription: { text, language: 'english', duration: 2 } });
  mock.onSpeech(/./, { audio: encode(speech), format: 'wav' });
  mock.onElevenLabsTTS(/./, { audio: { b64Json: encode(speech), contentType: 'audio/wav' } });
  mock.onImage(/./, { image: { b64Json: encode(image) } });
  mock.onFalImage(/./, { image: { url: `https://${FAL_HOST}${FAL_FILE}` } });
  mock.onMessage(/./, { content: text });
  const file = {
    handleRequest: async (_: IncomingMessage, response: ServerResponse): Promise<boolean> => {
      response.writeHead(200, { 'content-type': 'image/png' }).end(image);
      return true;
    },
  };
  mock.mount(`/fal${FAL_FILE}`, file);
  await mock.start();

  let isCut = false;
  let requests = 0;
  const proxy = createServer((request, response) => {
    requests += 1;
    const left = new AbortController();
    response.once('close', () => left.abort());
    forward(request, { origin: mock.url, signal: left.signal })
      .then(async (answer) => {
        const body = Buffer.from(await answer.arrayBuffer());
        const headers = { 'content-type': answer.headers.get('content-type') ?? '', 'content-length': body.length };
        const retryAfter = answer.headers.get('retry-after');
        response.writeHead(answer.status, retryAfter === null ? headers : { ...headers, 'retry-after': retryAfter });
        if (isCut) response.write(body.subarray(0, body.length >> 1), () => response.destroy());
        else response.end(body);
      })
      .catch(() => response.destroy());
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    origin: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    setFaults({ cut = false, ...chaos }) {
      isCut = cut;
      mock.setChaos(chaos);
    },
    countRequests: () => requests,
    async [Symbol.asyncDispose]() {
      proxy.closeAllConnections();
      await new Promise((resolve) => void proxy.close(resolve));
      await mock.stop();
    },
  };
}

async function forward(request: IncomingMessage, { origin, signal }: { origin: string; signal: AbortSignal }): Promise<Response> {
  const headers = Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
    typeof value !== 'string' || ['host', 'connection', 'content-length', 'transfer-encoding'].includes(name) ? [] : [[name, value]],
  );
  const body = await buffer(request);
  return fetch(`${origin}${request.url}`, { method: request.method ?? 'GET', headers, signal, ...(body.length > 0 && { body }) });
}
