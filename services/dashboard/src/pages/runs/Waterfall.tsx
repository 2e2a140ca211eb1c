import type { EvidentTurn } from './SessionTurns.tsx';
import { formatCount, formatDuration, formatUsd } from '../../parts/format.ts';
import { layOut, type Bar } from './lay-out.ts';

type Step = NonNullable<EvidentTurn['evidence']>['steps'][number];

interface WaterfallProps {
  label: string;
  steps: readonly Step[];
  /** The model of the turn. A step names its model only if another one answered. */
  model: string | undefined;
}

/** The steps of a turn with a bar for their time. The table is complete without the bars, so that it can be read aloud. */
export function Waterfall({ label, steps, model }: WaterfallProps) {
  if (steps.length === 0) return <p className="empty">The turn ended before its first step.</p>;
  const bars = layOut(steps);
  return (
    <div className="scroller" tabIndex={0} role="region" aria-label={label}>
      <table className="waterfall">
        <thead>
          <tr>
            {['step', 'start', 'duration', 'first token', 'model', 'input', 'output', 'cost', 'tools', 'time'].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {steps.map((step, index) => (
            <StepRow key={index} step={step} model={model} bar={bars[index] as Bar} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function StepRow({ step: evidence, model: turnModel, bar }: StepRowProps) {
  const { step, at, ms, firstMs, model = turnModel, input, output, costUsd, tools = [], moreTools = 0 } = evidence;
  return (
    <tr>
      <th scope="row">{step}</th>
      <td>{formatDuration(at)}</td>
      <td>{formatDuration(ms)}</td>
      <td>{formatDuration(firstMs)}</td>
      <td>{model ?? '–'}</td>
      <td>{formatCount(input)}</td>
      <td>{formatCount(output)}</td>
      <td>{formatUsd(costUsd)}</td>
      <td>
        <ul className="plain-list">
          {tools.map(({ name, ms: toolMs, failed, error }, index) => (
            <li key={index} className={failed ? 'danger' : undefined}>
              {name} {formatDuration(toolMs)} {failed && `failed${error === undefined ? '' : `: ${error}`}`}
            </li>
          ))}
          {moreTools > 0 && <li>{moreTools} more</li>}
        </ul>
      </td>
      <td className="time" aria-hidden="true">
        <span className="bar" style={{ marginInlineStart: `${bar.start}%`, inlineSize: `${bar.size}%` }} />
      </td>
    </tr>
  );
}

interface StepRowProps {
  step: Step;
  model: string | undefined;
  bar: Bar;
}
