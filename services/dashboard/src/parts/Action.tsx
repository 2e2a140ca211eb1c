import type { MethodName } from '@switchyard/contracts';
import { useState } from 'react';
import { useMay } from '../session/presence.ts';
import { describeError } from './format.ts';

interface ActionProps {
  label: string;
  /** The method of the action. Without its scope the button is absent. */
  needs?: MethodName;
  disabled?: boolean;
  run: () => Promise<unknown>;
}

/** A button that runs an action once at a time and shows its failure. */
export function Action({ label, needs, disabled = false, run }: ActionProps) {
  const [state, setState] = useState({ busy: false, failure: '' });
  const isAllowed = useMay(needs);
  const start = async (): Promise<void> => {
    setState({ busy: true, failure: '' });
    try {
      await run();
      setState({ busy: false, failure: '' });
    } catch (error) {
      setState({ busy: false, failure: describeError(error) });
    }
  };
  if (!isAllowed) return undefined;
  return (
    <>
      <button type="button" disabled={state.busy || disabled} onClick={() => void start()}>
        {label}
      </button>
      {state.failure && <span role="alert">{state.failure}</span>}
    </>
  );
}
