// The current selection as files, equal to those that the command line writes for the same sentences.

/** Return `learnedgec score --level sentence --format csv` for some sentences. */
function selectionCsv(report, sentences) {
  const { metrics } = report.sentences;
  const columns = ["system", "metric", "sentence", "score"];
  for (const each of metrics) {
    for (const name of Object.keys(each.details)) if (!columns.includes(name)) columns.push(name);
  }
  const lines = [columns.map(csvCell).join(",")];
  metrics.forEach((each, m) => {
    report.systems.forEach((system, s) => {
      for (const n of sentences) {
        const row = {
          system,
          metric: report.metrics[m].label,
          sentence: String(n + 1),
          score: pythonFloat(each.scores[s][n]),
        };
        for (const [name, column] of Object.entries(each.details))
          row[name] = pythonValue(column.values[s][n], column.kind);
        lines.push(columns.map((column) => csvCell(row[column] ?? "")).join(","));
      }
    });
  });
  return lines.join("\n") + "\n";
}

/** Return `learnedgec edits --src … --hyp …` for some sentences: the n-th system is annotator n − 1. */
function selectionM2(report, sentences) {
  const { source, outputs, of } = report.sentences;
  const lines = [];
  for (const n of sentences) {
    lines.push(`S ${source[n]}`);
    report.systems.forEach((_, s) => {
      const { edits } = outputs[n][of[s][n]];
      if (!edits.length) lines.push(`A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||${s}`);
      for (const [start, end, correction, type] of edits) {
        lines.push(`A ${start} ${end}|||${report.types[type] || "NA"}|||${correction}|||REQUIRED|||-NONE-|||${s}`);
      }
    });
    lines.push("");
  }
  return lines.map((line) => line + "\n").join("");
}

/** Return a cell as Python's csv module writes it. */
const csvCell = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** Return a value of a NumPy column as Python prints it. */
function pythonValue(value, kind) {
  if (value === null) return "";
  if (kind === "f") return pythonFloat(value);
  return kind === "b" ? (value ? "True" : "False") : String(value);
}

/** Return a number as Python's `repr` writes a float: the same digits, another notation. */
function pythonFloat(value) {
  if (value === null) return "";
  if (Object.is(value, -0)) return "-0.0";
  const [digits, exponent] = value.toExponential().split("e");
  const power = Number(exponent);
  if (value !== 0 && (power < -4 || power >= 16)) {
    return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  }
  // JavaScript writes exponents below 1e-6, Python below 1e-4.
  const plain = String(value);
  return plain.includes(".") ? plain : `${plain}.0`;
}

/** Let the reader save a text as a file. */
function download(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = el("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
