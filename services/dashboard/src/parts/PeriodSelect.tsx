interface PeriodSelectProps {
  label: string;
  value: string;
  /** Values of the options, each with its name as the first element. */
  periods: Readonly<Record<string, readonly [name: string, ...unknown[]]>>;
  onChange: (value: string) => void;
}

/** A list of the periods for which a page shows records. */
export function PeriodSelect({ label, value, periods, onChange }: PeriodSelectProps) {
  return (
    <label>
      {label}{' '}
      <select value={value} onChange={(event) => onChange(event.target.value)}>
        {Object.entries(periods).map(([option, [name]]) => (
          <option key={option} value={option}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
