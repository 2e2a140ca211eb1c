import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { startHub } from './live/event-hub.ts';
import { signInAtStart } from './session/browser-token.ts';
import { watchRollouts } from './live/rollout.ts';
import { App } from './shell/App.tsx';
import './styles.css';

const failure = await signInAtStart().then(
  () => undefined,
  (error: Error) => error.message,
);
startHub();
watchRollouts();
const root = document.getElementById('root');
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App signInFailure={failure} />
    </StrictMode>,
  );
}
