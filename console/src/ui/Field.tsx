import { Search as SearchIcon } from "lucide-react";
import {
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useEffect,
  useRef,
  useState,
} from "react";
import styles from "./Field.module.css";

/** A label above a control, and what it is for below. */
export function Field({
  label,
  hint,
  children,
}: {
  label: string;
  hint?: ReactNode;
  children: ReactNode;
}) {
  return (
    <label className={styles.field}>
      <span>{label}</span>
      {children}
      {hint && <span className={styles.hint}>{hint}</span>}
    </label>
  );
}

export const Input = (props: InputHTMLAttributes<HTMLInputElement>) => (
  <input className={styles.input} autoComplete="off" spellCheck={false} {...props} />
);

export const TextArea = (props: TextareaHTMLAttributes<HTMLTextAreaElement>) => (
  <textarea className={styles.input} rows={3} {...props} />
);

export function Select({
  options,
  ...rest
}: SelectHTMLAttributes<HTMLSelectElement> & { options: { value: string; text: string }[] }) {
  return (
    <select className={styles.input} {...rest}>
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.text}
        </option>
      ))}
    </select>
  );
}

export function Check({
  label,
  checked,
  onChange,
}: {
  label: ReactNode;
  checked: boolean;
  onChange: (checked: boolean) => void;
}) {
  return (
    <label className={styles.check}>
      <input type="checkbox" checked={checked} onChange={(e) => onChange(e.target.checked)} />
      {label}
    </label>
  );
}

/** What is typed, at once; `value` follows later where it stands in the URL.
 *
 * A value that comes back as it was told is no news: writing it into the box would undo what was
 * typed meanwhile, and move the caret.
 */
function useTyped(value: string, onChange: (text: string) => void) {
  const [typed, setTyped] = useState(value);
  const told = useRef<string[]>([]);
  useEffect(() => {
    const own = told.current.lastIndexOf(value);
    told.current = own < 0 ? [] : told.current.slice(own + 1);
    if (own < 0) setTyped(value);
  }, [value]);
  const type = (text: string) => {
    setTyped(text);
    told.current.push(text);
    onChange(text);
  };
  return [typed, type] as const;
}

export function SearchBox({
  label,
  value,
  onChange,
  ...rest
}: Omit<InputHTMLAttributes<HTMLInputElement>, "onChange"> & {
  label: string;
  value: string;
  onChange: (text: string) => void;
}) {
  const [typed, type] = useTyped(value, onChange);
  return (
    <div className={styles.search}>
      <SearchIcon size={15} aria-hidden />
      <input
        type="search"
        className={styles.input}
        aria-label={label}
        placeholder={label}
        value={typed}
        onChange={(event) => type(event.target.value)}
        spellCheck={false}
        {...rest}
      />
    </div>
  );
}
