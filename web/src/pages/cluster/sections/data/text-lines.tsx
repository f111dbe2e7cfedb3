/** Texts that a program reads, a line each. */
export const TextLines = ({ texts }: { texts: readonly string[] }) => (
  <ul>
    {texts.map((text) => (
      <li key={text}>
        <code>{text}</code>
      </li>
    ))}
  </ul>
);
