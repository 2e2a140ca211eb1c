import { useState } from 'react';
import { Action } from '../../parts/Action.tsx';
import { useDraft } from '../../parts/use-draft.ts';
import { call } from '../../session/client.ts';

/** Tests with a sample, or with a text or an address of the operator. */
export function MediaTests() {
  const [text, setText] = useDraft('media text', 'One, two, three.');
  const [url, setUrl] = useDraft('media address');
  const [result, setResult] = useState('');
  const show = async (answer: Promise<object>): Promise<void> => setResult(JSON.stringify(await answer, undefined, 2));
  const speak = async (): Promise<void> => {
    const { audio, ...speech } = await call('media.test.tts', { text });
    setResult(JSON.stringify({ ...speech, audio: `${audio.length} characters of base64` }, undefined, 2));
  };
  return (
    <>
      <label>
        Text to speak <input value={text} onChange={(event) => setText(event.target.value)} />
      </label>
      <label>
        Address to read <input value={url} onChange={(event) => setUrl(event.target.value)} autoComplete="off" />
      </label>
      <p className="tools">
        <Action label="Test speech" needs="media.test.tts" disabled={text === ''} run={speak} />
        <Action label="Test transcription" needs="media.test.stt" run={() => show(call('media.test.stt', {}))} />
        <Action label="Test vision" needs="media.test.vision" run={() => show(call('media.test.vision', {}))} />
        <Action label="Test links" needs="media.test.link" disabled={url === ''} run={() => show(call('media.test.link', { url }))} />
      </p>
      {result && (
        <pre tabIndex={0} role="region" aria-label="Result">
          {result}
        </pre>
      )}
    </>
  );
}
