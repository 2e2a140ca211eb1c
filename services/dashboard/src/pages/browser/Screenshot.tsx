import { useState } from 'react';
import { Action } from '../../parts/Action.tsx';
import { call } from '../../session/client.ts';

/** Takes a picture of the focused tab. */
export function Screenshot() {
  const [source, setSource] = useState<string>();
  return (
    <>
      <p className="tools">
        <Action
          label="Take a screenshot"
          needs="browser.screenshot"
          run={async () => {
            const { data } = await call('browser.screenshot', { type: 'png' });
            setSource(`data:image/png;base64,${data}`);
          }}
        />
      </p>
      {source !== undefined && <img className="picture" src={source} alt="The focused tab" />}
    </>
  );
}
