import type { TestService } from '@switchyard/testkit';
import { pairedRatios, quantile } from '../../bench/statistics.ts';

const ROUNDS = 15;

export interface MeasureSpeechOptions {
  app: TestService;
  /** The server that is also the provider of the product. */
  url: string;
  sounds: readonly Uint8Array[];
  text: string;
}

/** Prints how long calls of the product last beside direct calls of the same server, one after the other in turn. */
export async function measureSpeech({ app, url, sounds, text }: MeasureSpeechOptions): Promise<void> {
  let count = 0;
  /** The answer to each sound is kept, so that each call has another sound: bytes after the samples that no program hears. */
  const nextSound = (at: number): Buffer => {
    const tail = Buffer.alloc(16);
    tail.write('junk', 'latin1');
    tail.writeUInt32LE(8, 4);
    tail.writeUInt32LE((count += 1), 8);
    return Buffer.concat([sounds[at % sounds.length] ?? Buffer.alloc(0), tail]);
  };
  await compare('transcription', {
    async direct(at) {
      const form = new FormData();
      form.set('model', 'whisper-1');
      form.set('file', new Blob([nextSound(at)], { type: 'audio/wav' }), 'audio.wav');
      await (await fetch(`${url}/audio/transcriptions`, { method: 'POST', body: form })).json();
    },
    async product(at) {
      const result = await app.bus.call('audio.transcribe', { audio: nextSound(at).toString('base64') });
      if ('error' in result) throw new Error(result.error);
    },
  });
  for (const times of [1, 12]) {
    const input = (): string => `${(count += 1)}. ${text.repeat(times)}`;
    await compare(`speech of ${input().length} characters`, {
      async direct() {
        await (await fetch(`${url}/audio/speech`, { method: 'POST', body: JSON.stringify({ input: input() }) })).arrayBuffer();
      },
      async product() {
        await app.bus.call('tts.synthesize', { text: input(), format: 'wav' });
      },
    });
  }
}

type Ways = Readonly<Record<'direct' | 'product', (at: number) => Promise<void>>>;

async function compare(name: string, ways: Ways): Promise<void> {
  const times: Record<keyof Ways, number[]> = { direct: [], product: [] };
  for (let at = -1; at < ROUNDS; at++) {
    // Each way goes first in every second round.
    const order = at % 2 === 0 ? (['direct', 'product'] as const) : (['product', 'direct'] as const);
    for (const way of order) {
      const startedAt = performance.now();
      await ways[way](Math.max(0, at));
      if (at >= 0) times[way].push(performance.now() - startedAt); // the first round warms up
    }
  }
  const [direct, product] = [quantile(times.direct, 0.5), quantile(times.product, 0.5)];
  const ratio = quantile(pairedRatios(times.product, times.direct), 0.5);
  console.log(`${name}: ${product.toFixed(1)} ms, direct ${direct.toFixed(1)} ms, ${ratio.toFixed(2)}x`);
}
