/** Short texts beside each other. */
export const Chips = ({ of }: { of: readonly string[] }) => (
  <ul class="chips">
    {of.map((text) => (
      <li key={text} class="chip">
        {text}
      </li>
    ))}
  </ul>
);

/** Labels, or another map of texts; undefined for an empty one. */
export const labelChips = (labels: object = {}) => {
  const texts = Object.entries(labels).map(([name, value]) => `${name}: ${value}`);
  return texts.length > 0 ? <Chips of={texts} /> : undefined;
};
