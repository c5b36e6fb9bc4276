// The first page: what was examined, and each exam's result in a sentence, with its certainty.
"use strict";

(() => {
  const { html, Name, Warning, Score, Pic } = L;

  const page = (exam, file, found) => `exams/${exam.slug}/${file}.html${found ? L.address(found) : ""}`;

  const Painter = ({ exam, p }) =>
    html`<a href=${page(exam, "painter", { p: exam.painters[p].key })}><${Name}>${exam.painters[p].row}<//></a>`;

  // Words, and painters by their numbers.
  const Words = ({ exam, words }) =>
    words.map((word) => (typeof word === "number" ? html`<${Painter} exam=${exam} p=${word} />` : word));

  function Leaders({ exam, answer, score }) {
    const shared = (row) => answer.rows.some((other) => other !== row && other.place === row.place);
    const line = (row) => html`<tr>
      <td class="rank">${row.place == null ? "" : shared(row) ? `=${row.place}` : row.place}</td>
      <th scope="row"><${Painter} exam=${exam} p=${row.p} /></th>
      <td class="number"><${Score} view=${row.numbers} score=${score} whisker /></td>
    </tr>`;
    return html`<table class="mini">
      <caption>
        ${L.words(score.name)}: ${score.about}
      </caption>
      <tbody>
        ${answer.rows.map(line)}
      </tbody>
    </table>`;
  }

  // One question drawn by the leading painters, beside the reference.
  function Drawn({ exam, drawn }) {
    const link = (d) => page(exam, "question", { q: drawn.key, d });
    const tile = (one) => html`<li>
      <a class="tile" href=${link(one.d)}>
        <${Pic} sha=${one.image} alt=${`${drawn.id} by ${exam.painters[one.p].row}`} eager />
        <span class="tiletext">
          <${Name}>${exam.painters[one.p].row}<//><span class="soft">${L.percent(one.met)} met</span>
        </span>
      </a>
    </li>`;
    return html`<figure class="drawn">
      <ul class="tiles">
        ${drawn.reference &&
        html`<li>
          <a class="tile" href=${link()}>
            <${Pic} sha=${drawn.reference} alt=${`Reference of ${drawn.id}`} eager />
            <span class="tiletext">Reference<span class="soft">as it should be</span></span>
          </a>
        </li>`}
        ${drawn.drawings.map(tile)}
      </ul>
      <figcaption class="soft">
        ${drawn.drawings.length > 1 ? "The question on which they differ most" : "One of the questions"}: <a href=${link()}><${Name}>${drawn.id}<//></a>
      </figcaption>
    </figure>`;
  }

  function Card({ exam }) {
    const { answer, judges, times } = exam;
    const score = exam.scores.find((found) => found.name === answer.score);
    const { questions, drawings, differences, failures } = exam.counts;
    const rivals = exam.painters.filter((painter) => !painter.control).length;
    const controls = exam.painters.length - rivals;
    const what = [
      L.many(questions, "question"),
      rivals > 0 && L.many(rivals, "painter"),
      controls > 0 && L.many(controls, "control"),
      L.many(drawings, "drawing"),
      L.many(judges.length, "judge"),
      times[1] != null && `drawn until ${L.day(times[1]).slice(0, 10)}`,
    ];
    const links = [
      ["index", "Leaderboard"],
      ["painter", "Painters"],
      ["judges", "Judges"],
      ["questions", "Questions"],
      ["gallery", "Gallery"],
    ];
    if (differences) links.push(["differences", L.many(differences, "difference")]);
    if (failures) links.push(["failures", L.many(failures, "failure")]);
    return html`<article class="card answer">
      <header>
        <h2><a href=${page(exam, "index")}><${Name}>${exam.name}<//></a></h2>
        <p class="soft">${exam.title}</p>
        <p class="soft">${what.filter(Boolean).join(" · ")}</p>
      </header>
      <div class="said">
        <p class="verdict"><${Words} exam=${exam} words=${answer.said} /></p>
        <${Warning} judge=${answer} />
        ${answer.sure.length > 0 && html`<p><${Words} exam=${exam} words=${answer.sure} /></p>`}
        ${answer.judge &&
        html`<p class="soft">
          Judge <${Name}>${answer.judge}<//>, ${answer.examined ? `examined ${answer.examined}` : "not examined"}; reading
          ${" "}${exam.reading}.
        </p>`}
        ${score && answer.rows.length > 1 && html`<${Leaders} exam=${exam} answer=${answer} score=${score} />`}
      </div>
      ${answer.drawn && html`<${Drawn} exam=${exam} drawn=${answer.drawn} />`}
      <ul class="links">
        ${links.map(([file, name]) => html`<li><a href=${page(exam, file)}>${name}</a></li>`)}
      </ul>
    </article>`;
  }

  function Page({ data: [[site]] }) {
    return html`<h1>Exams</h1>
      <p class="lead">
        Can text-to-image models draw what a textbook would show, and draw it right? Choose an exam to see its
        leaderboard, its painters, and every question with all drawings and marks.
      </p>
      <div class="answers">${site.exams.map((exam) => html`<${Card} exam=${exam} />`)}</div>`;
  }

  L.show(Page, "site");
})();
