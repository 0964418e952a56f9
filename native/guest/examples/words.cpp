// Counts the words of what is posted, and answers the most frequent ones as JSON.
// c++ -O2 -std=c++17 -static -I ../include -o words words.cpp
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "mayfly.h"

static std::string count(mayfly_text body) {
    std::map<std::string, long> words;
    std::string word;
    for (size_t i = 0; i <= body.length; i++) {
        unsigned char c = i < body.length ? static_cast<unsigned char>(body.data[i]) : ' ';
        if (isalnum(c)) {
            word += static_cast<char>(tolower(c));
        } else if (!word.empty()) {
            words[word]++;
            word.clear();
        }
    }
    std::vector<std::pair<std::string, long>> sorted(words.begin(), words.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) { return a.second > b.second; });
    std::string json = "{";
    for (size_t i = 0; i < sorted.size() && i < 10; i++) {
        json += (i == 0 ? "\"" : ",\"") + sorted[i].first + "\":" + std::to_string(sorted[i].second);
    }
    return json + "}";
}

int main() {
    mayfly_request request;
    while (mayfly_wait_for_request(&request)) {
        if (!mayfly_is(request.method, "POST")) {
            mayfly_set_header("allow", "POST");
            mayfly_respond(405, "text/plain", "want a POST\n", 12);
            continue;
        }
        std::string json = count(request.body);
        mayfly_respond(200, "application/json", json.data(), json.size());
    }
}
