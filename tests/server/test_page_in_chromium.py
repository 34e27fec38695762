"""The page in a real Chromium, for every kind of model."""

import dataclasses
import json
import shutil
import threading
import types

import conftest
import keras
import numpy as np
import pytest
from kind_examples import export, make_kind
from small_checkpoint import write_checkpoint
from small_server import listening, running_server, wait_until

from keras_bert.export.pretrained import (
    PretrainedExportConfig,
    export_pretrained,
)
from keras_bert.models.pretraining import build_pretraining_model
from keras_bert.server.app import App
from keras_bert.server.config import ServerConfig
from keras_bert.server.servable import Servable
from keras_bert.server.versions import ModelVersions, polling

webdriver = pytest.importorskip("selenium.webdriver")
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.expected_conditions import (  # noqa: E402
    staleness_of,
)
from selenium.webdriver.support.select import Select  # noqa: E402
from selenium.webdriver.support.wait import WebDriverWait  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (shutil.which("chromium") and shutil.which("chromedriver")),
        reason="chromium and chromedriver are not installed",
    ),
]

HTML = "<img src=x onerror=\"document.title='changed'\">"
CONFIG = dataclasses.replace(conftest.CONFIG, max_position_embeddings=64)
SPAN = {"max_query_length": 4, "doc_stride": 3, "max_answer_length": 5}
# The kind of each model, and its settings.
MODELS = {
    "film": ("classification", {"labels": ("bad", HTML, "good")}),
    "topics": ("multilabel", {"labels": ("bad", HTML, "good")}),
    "likeness": ("regression", {"text_fields": ("text1", "text2")}),
    "endings": ("multiple_choice", {}),
    "names": ("token_classification", {"labels": ("B-ORG", f"B-{HTML}")}),
    "answers": ("span", SPAN),
    "doubts": (
        "span",
        {
            **SPAN,
            "answers_may_be_missing": True,
            "null_score_diff_threshold": -1e9,
        },
    ),
}
MAX_TEXT_CHARS = 500


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The exported models, with random weights."""
    folder = tmp_path_factory.mktemp("page")
    keras.utils.set_random_seed(3)
    vocab_file = conftest.write_vocab(folder)
    for name, (kind, settings) in MODELS.items():
        kind = make_kind(kind, vocab_file, CONFIG, **settings)
        model = kind.build_model(CONFIG)
        conftest.randomize(model)
        export(model, kind, folder / name)
    checkpoint = folder / "pretrained"
    write_checkpoint(checkpoint, CONFIG, build=build_pretraining_model)
    config = PretrainedExportConfig(max_seq_length=64)
    export_pretrained(checkpoint, folder / "encoder", config)
    return folder


def serving(folder, names, **environment):
    """Runs the server of these models."""
    return running_server(
        ",".join(str(folder / name) for name in names),
        environment,
        model_name=",".join(names),
        max_text_chars=MAX_TEXT_CHARS,
    )


@pytest.fixture(scope="module")
def server(folder):
    with serving(folder, [*MODELS, "encoder"]) as client:
        yield client


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    for argument in (
        *("headless", "no-sandbox", "disable-gpu", "disable-quic"),
        *("no-first-run", "disable-background-networking"),
        *("disable-component-update", "disable-sync"),
        f"user-data-dir={tmp_path_factory.mktemp('chromium')}",
    ):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    browser = webdriver.Chrome(options, service)
    yield browser
    browser.quit()


class Page:
    """What a person does on the page, and sees."""

    def __init__(self, browser, server):
        self.browser = browser
        browser.get(str(server.base_url))
        self.wait()

    def choose(self, model):
        Select(self.one("#names")).select_by_visible_text(model)

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def texts(self, selector):
        # In one call: the page may replace its nodes at any time.
        return self.browser.execute_script(
            "return [...document.querySelectorAll(arguments[0])]"
            ".map(node => node.textContent)",
            selector,
        )

    def focused(self):
        return self.browser.switch_to.active_element

    def ask(self, *texts):
        """Types or pastes a text into each field, and sends them."""
        for area, text in zip(self.all("textarea"), texts, strict=True):
            # ChromeDriver does not type emoji.
            self.browser.execute_script(
                "arguments[0].value = arguments[1]", area, text
            )
        self.press(area, Keys.CONTROL, Keys.ENTER)

    def press(self, node, *keys):
        """Presses keys, and waits for a new answer."""
        old = self.one("#answer > *")
        node.send_keys(*keys)
        WebDriverWait(self.browser, 60).until(staleness_of(old))
        self.wait()

    def wait(self):
        WebDriverWait(self.browser, 60).until(
            lambda _: self.one("#answer").get_attribute("aria-busy") == "false"
        )

    def bars(self):
        """Returns the names and percentages, and the names with a check."""
        names, shares = self.texts(".bars .name"), self.texts(".bars .share")
        rows = list(zip(names, shares, strict=True))
        return rows, self.texts(".bars .chosen .name")


@pytest.fixture
def page(browser, server):
    page = Page(browser, server)
    yield page
    # What holds after each test: no text became HTML, and a phone shows all.
    assert browser.title != "changed"
    assert not page.all("img")
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 320, "height": 600, "deviceScaleFactor": 1, "mobile": True},
    )
    width = browser.execute_script("return document.body.scrollWidth")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert width == 320
    for entry in browser.get_log("browser"):
        assert "Content Security Policy" not in entry["message"]


def predict(server, model, *instances, signature_name="serving_default"):
    """Asks the server without the page."""
    body = {"signature_name": signature_name, "instances": instances}
    response = server.post(f"/v1/models/{model}:predict", json=body)
    return response.json()["predictions"]


def percent(share):
    return f"{100 * share:.1f} %"


def by_share(labels, scores):
    rows = sorted(zip(labels, scores, strict=True), key=lambda row: -row[1])
    return [(label, percent(score)) for label, score in rows]


def test_the_scores_of_labels_are_bars(page, server):
    page.choose("film")
    text = f"a very good film 🦊 {HTML}"
    page.ask(text)
    (answer,) = predict(server, "film", {"text": text})
    labels = MODELS["film"][1]["labels"]
    assert page.texts(".result") == [answer["label"]]
    assert page.bars() == (
        by_share(labels, answer["scores"]),
        [answer["label"]],
    )
    fills = page.all(".bars .track div")
    widths = [fill.rect["width"] for fill in fills]
    full = page.one(".bars .track").rect["width"]
    shares = sorted(answer["scores"], reverse=True)
    assert [width / full for width in widths] == pytest.approx(shares, abs=0.01)


def test_several_labels_may_be_given(page, server):
    page.choose("topics")
    seen = set()
    for text in ("a very good film", "the lazy dog", "not bad", "fox"):
        page.ask(text)
        (answer,) = predict(server, "topics", {"text": text})
        given = [label for label in answer["labels"] if label]
        rows = by_share(MODELS["topics"][1]["labels"], answer["scores"])
        checked = [label for label, _ in rows if label in given]
        assert page.bars() == (rows, checked)
        assert page.texts(".result") == [", ".join(given) or "No label"]
        seen.add(len(given))
    assert max(seen) > 0


def test_a_number_of_two_texts(page, server):
    page.choose("likeness")
    assert page.texts("#fields label") == ["Text 1", "Text 2"]
    page.ask("a good film", "the movie")
    request = {"text1": "a good film", "text2": "the movie"}
    (answer,) = predict(server, "likeness", request)
    assert page.texts(".result") == [f"{answer['score']:.3f}"]


def test_endings_are_added_and_removed(page, server):
    page.choose("endings")
    for remove in page.all("#fields .row button"):
        assert not remove.is_enabled()  # two endings are the fewest
    add = page.one(".list > button")
    add.send_keys(Keys.ENTER)
    add.send_keys(Keys.ENTER)
    assert page.focused().accessible_name == "Ending 4"
    page.all("#fields .row button")[1].send_keys(Keys.ENTER)
    assert page.focused().accessible_name == "Ending 2"
    endings = ["the dog", HTML, "was bad 🦊"]
    page.ask("the fox jumped", *endings)
    request = {"context": "the fox jumped", "endings": endings}
    (answer,) = predict(server, "endings", request)
    shares = [percent(score) for score in answer["scores"]]
    chosen = endings[answer["choice"]]
    assert page.texts(".result") == [chosen]
    assert page.bars() == (list(zip(endings, shares, strict=True)), [chosen])


def test_an_answer_is_marked_in_its_context(page, server):
    page.choose("answers")
    context = "🦊🦊🦊 the lazy dog\njumped over 🦊 a quick brown fox ."
    page.ask("the fox", context)
    request = {"question": "the fox", "context": context}
    (answer,) = predict(server, "answers", request)
    assert answer["start"] > 0
    assert page.texts(".result") == [answer["answer"]]
    assert page.texts(".text") == [context]
    marked = context[answer["start"] : answer["end"]]
    assert page.texts("mark") == [marked]


def test_no_answer_is_said(page):
    page.choose("doubts")
    page.ask("the fox", "the lazy dog")
    assert page.texts(".result") == ["No answer in the text"]
    assert not page.all("mark")


def test_entities_are_coloured(page, server):
    page.choose("names")
    text = f"🦊🦊 the quick fox\njumped over 🦊 a lazy dog {HTML}"
    page.ask(text)
    (answer,) = predict(server, "names", {"text": text})
    found = [
        (text[start:end], kind)
        for kind, start, end in zip(
            answer["entities.type"],
            answer["entities.start"],
            answer["entities.end"],
            strict=True,
        )
    ]
    assert len(set(found)) > 3
    types = page.texts(".text small")
    marks = page.texts(".text mark")
    assert types == [kind for _, kind in found]
    assert marks == [name + kind for name, kind in found]
    # Each type has a colour, which the legend shows.
    colours = {
        kind: mark.value_of_css_property("background-color")
        for mark, kind in zip(page.all(".text mark"), types, strict=True)
    }
    assert len(set(colours.values())) == len(set(types))
    for mark in page.all(".legend mark"):
        colour = mark.value_of_css_property("background-color")
        assert colour == colours[mark.get_property("textContent")]
    page.browser.execute_script(
        "document.querySelectorAll('.text small').forEach((x) => x.remove())"
    )
    assert page.texts(".text") == [text]


def test_two_texts_are_compared(page, server):
    page.choose("encoder")
    texts = ["a good film", f"the dog {HTML}"]
    page.ask(*texts)
    first, second = (
        answer["embedding"]
        for answer in predict(server, "encoder", *({"text": t} for t in texts))
    )
    norms = np.linalg.norm(first) * np.linalg.norm(second)
    cosine = np.dot(first, second) / norms
    assert page.texts(".result") == [f"{cosine:.3f}"]


def test_each_mask_has_guesses(page, server):
    page.choose("encoder")
    page.all("#tasks input")[1].click()
    page.all("textarea")[0].send_keys("the ")
    page.one("#fields button").click()
    assert page.focused().get_property("value") == "the [MASK]"
    text = f"🦊 the [MASK] jumped {HTML} [MASK] ."
    page.ask(text)
    (answer,) = predict(
        server, "encoder", {"text": text}, signature_name="fill_mask"
    )
    pieces, shares = answer["masks.pieces"], answer["masks.probabilities"]
    assert len(pieces) == 2
    rows = [
        (piece, percent(share))
        for names, numbers in zip(pieces, shares, strict=True)
        for piece, share in zip(names, numbers, strict=True)
    ]
    assert page.bars() == (rows, [names[0] for names in pieces])
    best = [names[0] for names in pieces]
    assert page.texts("mark") == best
    assert page.texts(".text") == [
        text.replace("[MASK]", best[0], 1).replace("[MASK]", best[1], 1)
    ]


def test_the_page_says_that_a_text_was_cut(page):
    page.choose("film")
    page.ask("film")
    assert not page.all(".warning")
    page.ask("film " * 30)
    assert "longer than the model reads" in page.one(".warning").text


def test_the_sentence_of_an_error_is_shown(page, server):
    page.choose("film")
    text = HTML + "x" * MAX_TEXT_CHARS
    body = {"instances": [{"text": text}]}
    response = server.post("/v1/models/film:predict", json=body)
    page.ask(text)
    assert page.texts(".error") == [response.json()["error"]]


def test_a_key_is_asked_for(folder, browser):
    with serving(folder, ["film"], KERAS_BERT_API_KEY="a-key") as server:
        page = Page(browser, server)
        assert "needs a key" in page.one(".error").text
        for key in ("wrong", "a-key"):
            field = page.focused()
            assert field.accessible_name == "API key of this server"
            field.clear()
            page.press(field, key, Keys.ENTER)
        assert not page.one("#key").is_displayed()
        assert page.focused().tag_name == "textarea"
        page.ask("a good film")
        assert page.all(".bars")
        assert page.one("#about").text == "film version 1"


def test_models_appear_when_they_are_loaded(folder, browser):
    may_load = {"film": threading.Event(), "topics": threading.Event()}

    def load(version):
        may_load[version.parent.name].wait(60)
        return Servable(version)

    models = {x: ModelVersions(x, folder / x, load, {}) for x in may_load}
    app = App(models, ServerConfig())
    with (
        listening(app) as ((host, port), _),
        polling(list(models.values()), 0.1),
    ):
        url = f"http://{host}:{port}"
        page = Page(browser, types.SimpleNamespace(base_url=url))
        assert page.texts(".hint")[-1] == "The models are loading…"
        may_load["film"].set()
        wait_until(lambda: page.all("textarea"))
        page.one("textarea").send_keys("a good")
        may_load["topics"].set()
        wait_until(lambda: page.texts("#names option") == ["film", "topics"])
        page.one("textarea").send_keys(" film")
        assert page.one("textarea").get_property("value") == "a good film"
        page.choose("topics")
        assert page.one("#about").text == "version 1"
    app.close()


def test_a_second_request_ends_the_first(page):
    page.choose("film")
    page.browser.execute_script(
        """
        const send = window.fetch;
        window.signals = [];
        window.fetch = (path, options) => {
          signals.push(options.signal);
          if (signals.length > 1) return send(path, options);
          return new Promise((_, fail) => {
            options.signal.onabort = () => fail(options.signal.reason);
          });
        };
        """
    )
    area = page.one("textarea")
    area.send_keys("film", Keys.CONTROL, Keys.ENTER)
    assert page.one("#answer").get_attribute("aria-busy") == "true"
    assert page.texts("#waiting") == ["Waiting for the answer…"]
    page.ask("a good film")
    stopped = page.browser.execute_script("return signals.map(x => x.aborted)")
    assert stopped == [True, False]
    assert page.all(".bars") and page.texts("#waiting") == [""]


def test_the_keyboard_is_enough(page):
    names = []
    for _ in range(3):
        page.focused().send_keys(Keys.TAB)
        names.append(page.focused().accessible_name.strip())
        outline = page.focused().value_of_css_property("outline-style")
        assert outline == "solid"
    assert names == ["Model", "Text", "Ask the model"]
    page.focused().send_keys(Keys.SHIFT, Keys.TAB)
    page.press(page.focused(), "a good film", Keys.CONTROL, Keys.ENTER)
    assert page.all(".bars")
    assert page.one("#answer").get_attribute("aria-live") == "polite"


def test_an_empty_text_is_not_sent(page):
    page.one("textarea").send_keys(Keys.CONTROL, Keys.ENTER)
    assert page.focused().tag_name == "textarea"
    assert page.texts("#answer") == ["The answer appears here."]


@pytest.fixture
def docs(browser, client):
    """The page of the routes of a small model."""
    with listening(client.server) as ((host, port), _):
        browser.get(f"http://{host}:{port}/docs")
        WebDriverWait(browser, 60).until(
            lambda _: browser.find_elements(By.CSS_SELECTOR, ".route")
        )
        yield browser
        for entry in browser.get_log("browser"):
            assert "Uncaught" not in entry["message"]


def _routes(docs):
    routes = docs.find_elements(By.CSS_SELECTOR, ".route")
    return {x.find_element(By.CSS_SELECTOR, "code").text: x for x in routes}


def test_the_routes_are_shown_with_their_fields(docs, client):
    paths = client.get("/openapi.json").json()["paths"]
    routes = _routes(docs)
    assert list(routes) == [
        f"{method.upper()} {path}"
        for path, operations in paths.items()
        for method in operations
        if method != "parameters"
    ]
    for name, route in routes.items():
        route.find_element(By.CSS_SELECTOR, "summary").click()
        inputs = route.find_elements(By.CSS_SELECTOR, "input")
        names = [x.get_attribute("name") for x in inputs]
        expected = ["model"] if "{model}" in name or "/info" in name else []
        assert names == expected, name
        bodies = route.find_elements(By.CSS_SELECTOR, "textarea")
        assert len(bodies) == name.startswith("POST"), name
        for body in bodies:
            assert json.loads(body.get_property("value")), name
            if name != "POST /":
                assert route.find_elements(By.CSS_SELECTOR, "li"), name


def test_the_routes_are_asked(docs):
    for name, fields, expected in (
        ("POST /embed", [], "200\n[["),
        ("POST /", [], "200\n[["),
        ("GET /info", ["no"], "404\n"),
        ("GET /v1/models/{model}", ["small"], '200\n{"model_version_status'),
        ("POST /v1/models/{model}:predict", ["small"], "200\n"),
    ):
        route = _routes(docs)[name]
        route.find_element(By.CSS_SELECTOR, "summary").click()
        inputs = route.find_elements(By.CSS_SELECTOR, "input")
        for node, value in zip(inputs, fields, strict=True):
            node.send_keys(value)
        route.find_element(By.CSS_SELECTOR, "button").click()
        answer = route.find_element(By.CSS_SELECTOR, "pre")
        WebDriverWait(docs, 60).until(lambda _, node=answer: node.text)
        assert answer.text.startswith(expected), answer.text
