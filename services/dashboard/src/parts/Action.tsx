import { useState } from 'react';
import { describeError } from './format.ts';

/** A button that runs an action once at a time and shows its failure. */
export function Action({ label, run }: { label: string; run: () => Promise<unknown> }) {
  const [state, setState] = useState({ busy: false, failure: '' });
  const start = async (): Promise<void> => {
    setState({ busy: true, failure: '' });
    try {
      await run();
      setState({ busy: false, failure: '' });
    } catch (error) {
      setState({ busy: false, failure: describeError(error) });
    }
  };
  return (
    <>
      <button type="button" disabled={state.busy} onClick={() => void start()}>
        {label}
      </button>
      {state.failure && <span role="alert">{state.failure}</span>}
    </>
  );
}
